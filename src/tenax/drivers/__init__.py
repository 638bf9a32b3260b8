"""Calls the functions of Tenax with the database connections that applications have, of any supported driver."""
