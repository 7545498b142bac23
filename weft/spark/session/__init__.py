"""Sessions: the user's own or a local one of Weft's, which settings it must have, and how its workers get Weft.

In comes a session as it is, out comes one that runs plans, or an error that says what to set.
"""
