/** A text, set out in lines if it is JSON. */
export function JsonText({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <pre
      // Focusable, because it may have to be scrolled.
      tabIndex={0}
      role="group"
      aria-label={label}
      className="bg-page border-line max-h-72 overflow-auto rounded-lg border p-3 font-mono text-xs"
    >
      {setOut(text)}
    </pre>
  );
}

function setOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
