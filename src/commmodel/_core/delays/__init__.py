"""The delay models: LogP, LogGP, LogGPS on programs, LogGOPS on schedules whose operations depend on one another."""
