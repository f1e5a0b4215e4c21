"""What page, report and command line share when they show a figure: definitions, units, colours."""
