// A server that does not reply looks like one that has nothing to say. After some seconds the page says that it waits.

/** For less, a person thinks that the page is busy. */
const PATIENCE_MS = 3000

const late = new Set<Promise<unknown>>()
let announce = (_isWaiting: boolean) => {}

/** Calls the listener when a reply is late, and when none is any more. */
export const onWaiting = (listener: (isWaiting: boolean) => void): void => {
  announce = listener
}

/** Returns what it is given. */
export async function watchWaiting<T>(reply: Promise<T>): Promise<T> {
  const timer = setTimeout(() => {
    late.add(reply)
    announce(true)
  }, PATIENCE_MS)
  try {
    return await reply
  } finally {
    clearTimeout(timer)
    if (late.delete(reply)) announce(late.size > 0)
  }
}
