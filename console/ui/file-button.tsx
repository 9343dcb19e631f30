import { FileUp } from "lucide-react";
import { buttonClass } from "./button.tsx";

/** A button that chooses a file, the same one again if it has changed. The page shows what was chosen. */
export function FileButton({
  label,
  accept,
  disabled = false,
  onChoose,
}: {
  readonly label: string;
  readonly accept: string;
  readonly disabled?: boolean;
  readonly onChoose: (file: File) => void;
}) {
  return (
    <label
      className={`${buttonClass()} has-focus-visible:outline-accent relative w-fit cursor-pointer has-disabled:cursor-default has-disabled:opacity-60 has-focus-visible:outline-2`}
    >
      <FileUp aria-hidden className="size-4" />
      {label}
      <input
        type="file"
        accept={accept}
        disabled={disabled}
        className="sr-only"
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file) onChoose(file);
          // Without it, the browser reports no change if the same file is chosen again.
          target.value = "";
        }}
      />
    </label>
  );
}
