import { Button } from "./button.tsx";

const keys = "123456789*0#".split("");

/** The keys of a phone. */
export function Keypad({
  disabled = false,
  onPress,
}: {
  readonly disabled?: boolean;
  readonly onPress: (key: string) => void;
}) {
  return (
    <div role="group" aria-label="Keypad" className="mx-auto grid w-44 grid-cols-3 gap-2">
      {keys.map((key) => (
        <Button
          key={key}
          aria-label={`Press ${key}`}
          disabled={disabled}
          onClick={() => onPress(key)}
        >
          {key}
        </Button>
      ))}
    </div>
  );
}
