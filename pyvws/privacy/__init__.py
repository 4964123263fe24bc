"""What strict runs sell of a table: budgets, exact noise, and the one seller of measurements."""
