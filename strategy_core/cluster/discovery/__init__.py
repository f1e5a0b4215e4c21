"""Where the tasks of a cluster are: addresses, resolvers, and whether they answer."""
