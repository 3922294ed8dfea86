// The store in a worker thread: every operation runs in the main thread.
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Store } from '../directory/store-port/store.ts'
import type { FromWorker, ToWorker } from './messages.ts'

type Result = Extract<ToWorker, { kind: 'result' }>

export function createRemoteStore(engine: string, post: (message: FromWorker) => void) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  const call = (method: string, args: readonly unknown[]): Promise<unknown> => {
    last += 1
    const pending = Promise.withResolvers<unknown>()
    waiting.set(last, pending)
    post({ kind: 'call', id: last, method, args })
    return pending.promise
  }
  const own: Pick<Store, 'engine' | 'onWake' | 'close'> = {
    engine,
    // each change is announced by a message of its own
    onWake: () => () => {},
    close: async () => {},
  }
  // every other member is an operation; `then` would make it a promise
  const store = new Proxy(own, {
    get: (target, name) =>
      name === 'then' || Reflect.has(target, name)
        ? Reflect.get(target, name)
        : (...args: readonly unknown[]) => call(String(name), args),
  }) as Store
  return {
    store,
    settle({ id, value, error }: Result): void {
      const pending = waiting.get(id)
      waiting.delete(id)
      if (error === undefined) pending?.resolve(value)
      else pending?.reject(new Refusal(error.code, { detail: error.detail ?? 'the main thread refused it' }))
    },
  }
}

/** Runs an operation for a worker thread. */
export async function runStoreCall(
  store: Store,
  log: Log,
  { id, method, args }: Extract<FromWorker, { kind: 'call' }>,
): Promise<Result> {
  try {
    // the message is of this process
    const operation = Reflect.get(store, method) as (...args: readonly unknown[]) => Promise<unknown>
    return { kind: 'result', id, value: await operation(...args) }
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'result', id, error: { code: error.code, detail: error.detail } }
    log.error('an operation of the store for a worker thread has failed', { operation: method, error })
    const detail = 'the main thread could not run the operation'
    return { kind: 'result', id, error: { code: 'store_unavailable', detail } }
  }
}
