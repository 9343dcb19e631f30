import { Progress } from "@base-ui/react/progress";

/** How much of something is done, 0 to 100. */
export function ProgressBar({
  label,
  percent,
}: {
  readonly label: string;
  readonly percent: number;
}) {
  return (
    <Progress.Root value={percent} aria-label={label}>
      <Progress.Track className="bg-hover block h-1.5 overflow-hidden rounded-full">
        <Progress.Indicator className="bg-accent block transition-[width] duration-300" />
      </Progress.Track>
    </Progress.Root>
  );
}
