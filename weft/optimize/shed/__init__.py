"""What to do when a stream's input outgrows its machine: longer triggers first, then drop boxes within error bounds."""
