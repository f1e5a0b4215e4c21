"""The programs that benchmarks start and measure, each in processes of its own."""
