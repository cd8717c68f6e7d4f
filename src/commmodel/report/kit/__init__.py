"""What every table, plot and page is made of."""
