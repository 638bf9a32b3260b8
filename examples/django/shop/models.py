"""The model of the shop."""

from django.db import models


class Order(models.Model):
    amount = models.IntegerField()
    receipt = models.CharField(max_length=50, default="")
