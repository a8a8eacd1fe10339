/** A URL as it may be shown: without userinfo, query and fragment (semantics 8.5). */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/**
 * Where a redirect leads, if it may be followed (semantics 1.8): 307 and 308 to the same origin, or from http to https of
 * the same host. Method, body and credential go along, so everything else is refused with a sentence that names the target.
 */
export function redirectTarget(
  from: URL,
  status: number,
  location: string | undefined,
): { readonly url: URL } | { readonly refused: string } {
  const target = location === undefined ? null : URL.parse(location, from.href);
  if (!target) return { refused: `${shownUrl(from)} answers ${status} without a usable Location` };
  const upgraded = from.protocol === "http:" && target.protocol === "https:" && from.hostname === target.hostname;
  const keeps = target.origin === from.origin || upgraded;
  if ((status === 307 || status === 308) && keeps && target.username === "" && target.password === "") {
    return { url: target };
  }
  return {
    refused: `${shownUrl(from)} redirects (${status}) to ${shownUrl(target)}, which is not followed: set the server's url to where it really is`,
  };
}
