import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { type PipeOwner, ResponsePipe } from './response-pipe.ts'
import { createSilence } from './upstream-errors.ts'

type Controller = Dispatcher.DispatchController

/**
 * The answer to a request whose body is passed on as it comes. How long the upstream takes to begin counts from when it
 * was sent all of it. Until then it counts how long the upstream takes nothing, and never how long the client pauses.
 */
export class Upload extends ResponsePipe {
  readonly #body: Readable
  readonly #limits: Pick<PipeOwner, 'idleMs' | 'firstByteMs'>
  #controller: Controller | undefined
  #clock: NodeJS.Timeout | undefined
  #isAnswered = false

  constructor(owner: PipeOwner, body: Readable) {
    super(owner)
    this.#body = body
    this.#limits = owner
  }

  override onRequestStart(controller: Controller): void {
    this.#controller = controller
    super.onRequestStart(controller)
    if (!this.#isAnswered) this.#watch(this.#limits.idleMs, () => this.#judgeSending())
  }

  onBodySent(): void {
    this.#clock?.refresh()
  }

  onRequestSent(): void {
    if (this.#isAnswered) return
    clearTimeout(this.#clock)
    this.#watch(this.#limits.firstByteMs, () => this.#fail())
  }

  override onResponseStart(...head: Parameters<ResponsePipe['onResponseStart']>): void {
    const [, status] = head
    if (status >= 200) this.#stop()
    super.onResponseStart(...head)
  }

  /** It has a clock of its own, which nothing that comes early winds up. */
  protected override onEarly(): void {}

  override onResponseError(controller: Controller, error: Error): void {
    this.#stop()
    super.onResponseError(controller, error)
  }

  override discard(): void {
    this.#stop()
    super.discard()
  }

  #watch(ms: number, late: () => void): void {
    if (ms > 0 && !this.isFeed) this.#clock = setTimeout(late, ms).unref()
  }

  #stop(): void {
    this.#isAnswered = true
    clearTimeout(this.#clock)
    this.#clock = undefined
  }

  /** Paused, it is the upstream that takes nothing; else it is the client that sends nothing, which the body judges. */
  #judgeSending(): void {
    if (this.#body.isPaused()) this.#fail()
    else this.#clock?.refresh()
  }

  #fail(): void {
    this.#controller?.abort(createSilence())
  }
}
