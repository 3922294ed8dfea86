// The part of Node's `events` that PouchDB uses, for the page: bundlers bring a package for it.
type Listener = ((...args: unknown[]) => void) & { listener?: Listener }

// biome-ignore lint/style/noDefaultExport: as in Node
export default class EventEmitter {
  // PouchDB calls the methods on objects that it did not construct
  declare byEvent: Map<string, readonly Listener[]> | undefined

  on(event: string, listener: Listener): this {
    return this.set(event, [...this.listeners(event), listener])
  }

  set(event: string, listeners: readonly Listener[]): this {
    this.byEvent ??= new Map()
    this.byEvent.set(event, listeners)
    return this
  }

  addListener(event: string, listener: Listener): this {
    return this.on(event, listener)
  }

  once(event: string, listener: Listener): this {
    const once: Listener = (...args) => {
      this.removeListener(event, once)
      listener.apply(this, args)
    }
    once.listener = listener
    return this.on(event, once)
  }

  removeListener(event: string, listener: Listener): this {
    const left = this.listeners(event).filter((one) => one !== listener && one.listener !== listener)
    return this.set(event, left)
  }

  removeAllListeners(event?: string): this {
    if (event !== undefined) return this.set(event, [])
    this.byEvent = undefined
    return this
  }

  emit(event: string, ...args: unknown[]): boolean {
    const listeners = this.listeners(event)
    for (const listener of listeners) listener.apply(this, args)
    return listeners.length > 0
  }

  listeners(event: string): readonly Listener[] {
    return this.byEvent?.get(event) ?? []
  }

  listenerCount(event: string): number {
    return this.listeners(event).length
  }

  setMaxListeners(): this {
    return this
  }
}

// PouchDB copies the methods that it can enumerate
const { constructor: _constructor, ...methods } = Object.getOwnPropertyDescriptors(EventEmitter.prototype)
for (const [name, method] of Object.entries(methods))
  Object.defineProperty(EventEmitter.prototype, name, { ...method, enumerable: true })
