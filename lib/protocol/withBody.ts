/** The same response with another body. `new Response` rejects some statuses and status texts that `fetch` accepts. */
export function withBody(response: Response, body: BodyInit | null): Response {
  const { status, statusText, ok, headers } = response;
  const made = new Response(body, { headers });
  const clone = made.clone.bind(made);
  return Object.defineProperties(made, {
    status: { value: status },
    statusText: { value: statusText },
    ok: { value: ok },
    clone: { value: () => withBody(response, clone().body) },
  });
}
