"""The tasks of the shop."""

from django.db import close_old_connections

from tenax import Retry, context, task


@task(retry={"max_attempts": 5, "initial_delay": "1s"}, timeout="30s")
def charge(order_id: int) -> str:
    from shop.models import Order

    close_old_connections()  # threads of a worker live for long, and connections may not
    order = Order.objects.get(pk=order_id)
    if context().attempt == 1:
        raise Retry("the bank is busy", after="100ms")
    order.receipt = f"R-{order.pk}"
    order.save()
    return order.receipt
