"""Results of a guard: tables, a comment in Markdown, JUnit's XML, a badge, and a page of its history."""
