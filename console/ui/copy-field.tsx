import { Check, Copy } from "lucide-react";
import { useRef, useState } from "react";
import { Button } from "./button.tsx";
import { TextField } from "./text-field.tsx";

/** A text to pass on, with a button that copies it. */
export function CopyField({
  label,
  name,
  text,
  hint,
}: {
  readonly label: string;
  readonly name: string;
  readonly text: string;
  readonly hint?: string;
}) {
  const [copied, setCopied] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const copy = async () => {
    // Browsers copy over https and on the machine itself; elsewhere the person does.
    if (!isSecureContext) return input.current?.select();
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          ref={input}
          label={label}
          name={name}
          readOnly
          value={text}
          hint={hint}
          onFocus={({ target }) => target.select()}
        />
      </div>
      <Button className={hint === undefined ? "" : "mb-[1.375rem]"} onClick={() => void copy()}>
        {copied ? (
          <Check aria-hidden className="size-4" />
        ) : (
          <Copy aria-hidden className="size-4" />
        )}
        {copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}
