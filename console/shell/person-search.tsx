import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useDeferredValue, useEffect, useId, useState, type KeyboardEvent } from "react";
import { peopleQuery } from "../api/people.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FormError } from "../ui/form-error.tsx";

/** Finds a person from every page; Ctrl K or ⌘ K opens it. */
export function PersonSearch() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <Dialog
      title="Find a person"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <Button aria-keyshortcuts="Control+K Meta+K" className="md:justify-start">
          <Search aria-hidden className="size-4 shrink-0" />
          <span className="max-md:sr-only">Find a person</span>
          <kbd aria-hidden className="text-muted ml-auto text-xs max-md:hidden">
            Ctrl K
          </kbd>
        </Button>
      }
    >
      <PersonCombobox onLeave={() => setOpen(false)} />
    </Dialog>
  );
}

function PersonCombobox({ onLeave }: { readonly onLeave: () => void }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  const q = useDeferredValue(text.trim());
  const { data: found = [], error, isSuccess } = useQuery(peopleQuery(q));
  const choose = (index: number) => {
    const person = found[index];
    if (!person) return;
    onLeave();
    void navigate({ to: "/people/$phone", params: { phone: `+${person.phone_number}` } });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setActive((active + step + found.length) % Math.max(found.length, 1));
    else if (event.key === "Enter") choose(active);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        autoFocus
        role="combobox"
        aria-label="Number, name or email"
        aria-expanded={found.length > 0}
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${active}` : undefined}
        aria-autocomplete="list"
        placeholder="Number, name or email"
        maxLength={100}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
        className="border-line bg-panel h-10 w-full rounded-lg border px-3"
      />
      <FormError error={error} />
      <ul id={id} role="listbox" aria-label="People" className="flex flex-col gap-0.5">
        {found.map(({ phone_number, name, email }, index) => (
          <li
            key={phone_number}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => choose(index)}
            className="hover:bg-hover aria-selected:bg-hover cursor-pointer rounded-lg px-3 py-2"
          >
            <span className="block font-medium">{name ?? `+${phone_number}`}</span>
            <span className="text-muted block text-xs wrap-anywhere">
              {[name && `+${phone_number}`, email].filter(Boolean).join(" · ")}
            </span>
          </li>
        ))}
      </ul>
      {isSuccess && found.length === 0 && <p className="text-muted">No person matches.</p>}
    </>
  );
}
