import type { Config } from "../config.ts";

/**
 * Says what is wrong if a proxy serves the API and none is trusted; null otherwise. The API itself speaks HTTP only, so a
 * public URL with https means a proxy.
 */
export function proxyProblem({ public_url, trusted_proxies, roles }: Config): string | null {
  const isProxied = roles.includes("api") && new URL(public_url).protocol === "https:";
  if (!isProxied || trusted_proxies.length > 0) return null;
  return (
    "PUBLIC_URL begins with https, so a proxy serves it, and every visitor has the proxy's address: " +
    "set TRUSTED_PROXIES to the proxy's address (see docs/guides/operation.md)"
  );
}
