"""What is measured between the processes of a cluster: clocks and bytes per link."""
