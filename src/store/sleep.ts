/** A sleep from which somebody else can wake. */
export interface Nap {
  /** Calls from here on count for the next sleep. */
  begin(): void
  /** Until the time has passed, or somebody calls or has called since `begin`. */
  sleep(ms: number): Promise<void>
  wake(): void
}

export function createNap(): Nap {
  let isCalled = false
  let rouse = () => {}
  return {
    begin() {
      isCalled = false
    },
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, isCalled ? 0 : ms)
        rouse = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    wake() {
      isCalled = true
      rouse()
    },
  }
}
