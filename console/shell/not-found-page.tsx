import { Link } from "@tanstack/react-router";
import { MessagePage } from "../ui/message-page.tsx";

export function NotFoundPage() {
  return (
    <MessagePage
      title="There is nothing here"
      text="The address may be mistyped, or what it showed was deleted."
    >
      <Link to="/" className="text-accent underline">
        Go to the start
      </Link>
    </MessagePage>
  );
}
