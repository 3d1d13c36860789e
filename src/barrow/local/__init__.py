"""The local and the shuffle model: each person adds noise, a server adds up; they take a study and a question."""
