"""The command line is a translation: parse, one library call, print."""
