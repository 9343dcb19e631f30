import { test } from "node:test";
import { startApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { stallRequest } from "../../test/support/hostile-client.ts";

test("one address has at most half of the connections, and another still gets an answer", async () => {
  const api = await startApi({ limits: { connections_max: 8 } });
  const open = (localAddress: string) =>
    stallRequest(api.url, "POST /nothing", { bytes: 1, beginning: "", localAddress });
  const many = Array.from({ length: 20 }, () => open("127.0.0.1"));
  try {
    const closed = () => many.filter(({ isClosed }) => isClosed()).length;
    await eventually(() => closed() === 16);
    const other = open("127.0.0.2");
    await eventually(() => other.socket.bytesRead > 0);
    other.socket.destroy();
  } finally {
    for (const { socket } of many) socket.destroy();
    await api.close();
  }
});

test("a trusted proxy may have more than half of the connections", async () => {
  const api = await startApi({ limits: { connections_max: 8 }, trusted_proxies: ["127.0.0.1"] });
  const open = () => stallRequest(api.url, "POST /nothing", { bytes: 1, beginning: "" });
  const many = Array.from({ length: 8 }, open);
  try {
    await eventually(() => many.every(({ socket }) => socket.bytesRead > 0));
  } finally {
    for (const { socket } of many) socket.destroy();
    await api.close();
  }
});
