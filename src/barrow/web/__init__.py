"""The designer: a page on this machine that turns promises into a study, and a study into a release, by looking.

The page asks, the guard judges, and what is drawn is drawn here from public numbers. Private values never come into
this process: records are read by a child process that hands back names of columns, stages, and what is published.
"""

from barrow.web.serving import serve
