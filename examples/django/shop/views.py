"""The views of the shop."""

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.durable import application
from shop.models import Order
from shop.tasks import charge


@csrf_exempt
@require_POST
def place(request: HttpRequest) -> JsonResponse:
    with transaction.atomic():
        order = Order.objects.create(amount=int(request.POST["amount"]))
        call = charge.options(app=application(), key=f"order-{order.pk}")
        transaction.on_commit(lambda: call.submit_sync(order.pk))
    return JsonResponse({"order": order.pk}, status=202)


def show(_request: HttpRequest, number: int) -> JsonResponse:
    order = get_object_or_404(Order, pk=number)
    return JsonResponse({"order": order.pk, "amount": order.amount, "receipt": order.receipt})
