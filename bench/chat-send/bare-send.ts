// Sends one message with undici: the work of the bare loop and of a BullMQ job.
import { Pool } from "undici";
import { messageBody } from "../../server/drivers/chat/meta/message-body.ts";

export type BareMessage = {
  readonly message_id: string;
  readonly to: string;
  readonly name: string;
};

/** Opens a sender over `connections` connections; it throws unless the response has a message ID. */
export function openBareSend(
  api_url: string,
  access_token: string,
  connections: number,
): (message: BareMessage) => Promise<string> {
  const { origin, pathname } = new URL(api_url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const path = `${pathname}/106540352242922/messages`;
  const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
  return async ({ message_id, to, name }) => {
    const body = messageBody({
      message_id,
      to,
      message: {
        kind: "template",
        name: "greeting_1",
        language: "en",
        header: null,
        body: [{ text: name }],
        buttons: [],
      },
      route: "standard",
    });
    const answer = await pool.request({ method: "POST", path, headers, body });
    const content = (await answer.body.json()) as { messages?: { id: string }[] };
    const id = content.messages?.[0]?.id;
    if (answer.statusCode !== 200 || !id)
      throw new Error(`a message got status ${answer.statusCode}`);
    return id;
  };
}
