"""Components of all reports: tables, plots and pages."""
