import OfflineMap
import SwiftUI

/// The tiles of a map view, whose session decodes with the system:
/// `MapSession(bundle: bundle, budget: 64 << 20, decoder: SystemImageDecoder())`. Fingers move and enlarge it.
struct MapCanvas: View {
  let session: MapSession<SystemImage>
  @Binding var viewport: Viewport
  @Binding var failure: TileFailure?
  @State private var start: Viewport?  // what was shown when the fingers came down

  var body: some View {
    let tiles = session.visibleTiles  // The session is observable: tiles that arrive are drawn.
    Canvas { context, _ in
      for tile in tiles {
        let frame = CGRect(x: tile.frame.x, y: tile.frame.y, width: tile.frame.side, height: tile.frame.side)
        context.draw(Image(decorative: tile.picture.image, scale: 1), in: frame)
      }
    }
    .gesture(
      DragGesture(minimumDistance: 0).simultaneously(with: MagnifyGesture())
        .onChanged { fingers in
          start = start ?? viewport
          viewport.follow(fingers.first, fingers.second, from: start!, zooms: session.bundle.metadata.zooms)
        }
        .onEnded { _ in start = nil }
    )
    .onChange(of: viewport, initial: true) { session.update(viewport) }
    .onChange(of: session.failedTiles.first?.tileID) { failure = session.failedTiles.first }
    .task { await session.run() }
  }
}
