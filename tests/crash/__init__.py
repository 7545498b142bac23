"""The crash test of streams: a stream that is killed again and again answers as a batch run does."""
