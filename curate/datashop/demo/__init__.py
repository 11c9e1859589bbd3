"""The demonstration of Datashop: ``make datashop-demo``."""
