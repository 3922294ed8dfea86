import type { ComponentChildren } from 'preact'

interface PageProps {
  /** The side panel, if one is open. */
  readonly panel?: ComponentChildren
  readonly children: ComponentChildren
}

/** The content of a page, with its side panel beside it. */
export const Page = ({ panel, children }: PageProps) => (
  <div class={`body ${panel ? 'with-panel' : ''}`}>
    <main class="page" id="content" tabIndex={-1}>
      {children}
    </main>
    {panel}
  </div>
)
