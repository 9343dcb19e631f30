import { useState } from "react";
import { describeWrite, type DescribedWrite } from "../api/described-write.ts";
import { Button } from "./button.tsx";
import { body_file, curlCommand } from "./curl-command.ts";

/**
 * Shows the command that does what the form is about to do. `submit` is the form's own, so they cannot differ. Until it is
 * asked for, it is small: few who fill in a form want it.
 */
export function ShowCurl({
  submit,
  className = "self-start",
}: {
  readonly submit: () => Promise<unknown>;
  /** Where the button is. */
  readonly className?: string;
}) {
  const [write, setWrite] = useState<DescribedWrite | null>(null);
  if (!write)
    return (
      <button
        type="button"
        className={`text-muted hover:text-ink rounded py-1.5 text-xs hover:underline ${className}`}
        onClick={() => void describeWrite(submit).then(setWrite)}
      >
        Show as curl
      </button>
    );
  return <Command write={write} onHide={() => setWrite(null)} />;
}

function Command({
  write,
  onHide,
}: {
  readonly write: DescribedWrite;
  readonly onHide: () => void;
}) {
  const { command, file } = curlCommand(write);
  const [copied, setCopied] = useState(false);
  return (
    <section
      aria-label="As a curl command"
      className="border-line bg-page flex w-full min-w-0 flex-col gap-2 rounded-lg border p-3"
    >
      <pre
        // Focusable, because it may have to be scrolled.
        tabIndex={0}
        className="overflow-x-auto font-mono text-xs whitespace-pre"
      >
        {command}
      </pre>
      <p className="text-muted text-xs">
        TRUNKLINE_TOKEN is a token of your account. What you change in the form afterwards is not in
        this command.
      </p>
      <div className="flex flex-wrap gap-2">
        {/* Browsers copy over https and on the machine itself. */}
        {isSecureContext && (
          <Button
            onClick={() => void navigator.clipboard.writeText(command).then(() => setCopied(true))}
          >
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
        {file !== null && <Button onClick={() => download(file)}>Download {body_file}</Button>}
        <Button kind="quiet" onClick={onHide}>
          Hide
        </Button>
      </div>
    </section>
  );
}

function download(file: string): void {
  const url = URL.createObjectURL(new Blob([file], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = body_file;
  link.click();
  URL.revokeObjectURL(url);
}
