// Plays a realtime AI agent's audio item by item and measures how much of each item was played, for the server.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { CallMedia } from "../../call-media.ts";
import type { ServerEvent } from "./read-server-event.ts";
import { openDecoder, type Decoder, type AudioFormat } from "./audio-format.ts";

/** The most items whose audio may still be queued. */
const items_max = 8;
/** A server that is this far ahead of playback is considered broken. */
const queued_ms_max = 600_000;

/** How much of an interrupted item was played. */
export type Cut = {
  readonly item: string;
  readonly content_index: number;
  readonly played_ms: number;
};

type AudioDelta = Extract<ServerEvent, { type: "audio" }>;
type Item = Pick<AudioDelta, "response_id" | "item" | "content_index"> & {
  /** Null: all of its audio was received. */
  decoder: Decoder | null;
  written_ms: number;
};

export type Playback = {
  /** Queues audio; returns false, without queueing it, if too much is queued. */
  readonly play: (audio: AudioDelta) => boolean;
  /** Marks the last item as complete. */
  readonly finish: () => void;
  /**
   * Stops playback at once and returns the items that were not played to the end. `active_response`: the response
   * in progress, whose last item counts as interrupted even if all received audio was played.
   */
  readonly cut: (active_response: string | null) => readonly Cut[];
};

export function openPlayback(media: CallMedia, format: AudioFormat): Playback {
  let items: Item[] = [];
  const write = (item: Item, samples: Buffer) => {
    item.written_ms += samples.length / bytes_per_ms;
    if (samples.length > 0) media.write(samples);
  };
  const finish = () => {
    const item = items.at(-1);
    if (!item?.decoder) return;
    write(item, item.decoder.flush());
    item.decoder = null;
  };
  return {
    play({ response_id, item: item_id, content_index, audio }) {
      if (media.queued_ms() > queued_ms_max) return false;
      let item = items.at(-1);
      if (item?.item !== item_id || item.content_index !== content_index) {
        finish();
        item = { response_id, item: item_id, content_index, decoder: null, written_ms: 0 };
        items = [...items.slice(1 - items_max), item];
      }
      item.decoder ??= openDecoder(format);
      write(item, item.decoder.push(audio));
      return true;
    },
    finish,
    cut(active_response) {
      let left_ms = media.queued_ms();
      media.flush();
      const cuts: Cut[] = [];
      for (const item of items.toReversed()) {
        const unplayed_ms = Math.min(left_ms, item.written_ms);
        left_ms -= unplayed_ms;
        const played_ms = Math.max(0, Math.floor(item.written_ms - unplayed_ms));
        if (unplayed_ms > 0 || (item === items.at(-1) && item.response_id === active_response))
          cuts.push({ item: item.item, content_index: item.content_index, played_ms });
      }
      items = [];
      return cuts.toReversed();
    },
  };
}
