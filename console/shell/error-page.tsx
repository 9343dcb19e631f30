import { ApiProblem } from "../api/problem.ts";
import { Button } from "../ui/button.tsx";
import { MessagePage } from "../ui/message-page.tsx";

export function ErrorPage({
  error,
  reset,
}: {
  readonly error: unknown;
  readonly reset: () => void;
}) {
  const request_id = error instanceof ApiProblem ? error.request_id : null;
  return (
    <MessagePage
      title="This page could not be shown"
      text={`${error instanceof Error ? error.message : String(error)}${request_id ? ` (request ${request_id})` : ""}`}
    >
      <Button onClick={reset}>Try again</Button>
    </MessagePage>
  );
}
