// The page that stands for the console until it is built. It needs no file of the console.
import { createHash } from "node:crypto";

/**
 * Reloads by script. With a `refresh` header, a browser at an address with a fragment, such as the first sign-in link,
 * only goes to the fragment of the page that it has.
 */
const script = "setTimeout(() => location.reload(), 2000);";

const style = `
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; gap: 0.75rem; padding: 1.5rem;
  font: 0.875rem/1.5 ui-sans-serif, system-ui, sans-serif;
  color: light-dark(#16252b, #e9eeef); background: light-dark(#f7fbfb, #0e1619); }
h1 { margin: 0; font-size: 1.25rem; }
p { margin: 0; max-width: 36rem; color: light-dark(#505d63, #a0abb0); }
a { color: light-dark(#006e64, #62cec2); }
`;

/** Nothing but this style and this script. */
export const waiting_policy = [
  "default-src 'none'",
  `script-src '${hashOf(script)}'`,
  `style-src '${hashOf(style)}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Returns the page as HTML. */
export function waitingPage(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Trunkline</title>
<style>${style}</style>
<script>${script}</script>
<h1>${title}</h1>
<p>${escapeHtml(text)}</p>
<p><a href="/docs">API documentation</a></p>
</html>
`;
}

function hashOf(source: string): string {
  return `sha256-${createHash("sha256").update(source).digest("base64")}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
