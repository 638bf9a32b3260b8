"use strict";

// Shows openapi.json by Swagger UI. Where the server asks for a token, the person gives it once; it is kept in this variable only.
let token = "";
const entrance = document.getElementById("entrance");

function withToken(request) {
  const isOurs = new URL(request.url, document.baseURI).origin === window.location.origin;
  if (token && isOurs) request.headers = { ...request.headers, authorization: `Bearer ${token}` };
  return request;
}

async function load() {
  const request = withToken({ url: "openapi.json", headers: {} });
  const answer = await fetch(request.url, { headers: request.headers });
  const body = await answer.json();
  if (!answer.ok) {
    document.getElementById("refusal").textContent = token ? body.title : "";
    entrance.hidden = false;
    return;
  }
  entrance.hidden = true;
  window.SwaggerUIBundle({
    dom_id: "#api",
    spec: body,
    validatorUrl: "none",
    requestInterceptor: withToken,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
  });
}

entrance.addEventListener("submit", (event) => {
  event.preventDefault();
  token = document.getElementById("token").value.trim();
  load();
});
load();
