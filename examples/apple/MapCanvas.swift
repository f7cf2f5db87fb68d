import OfflineMap
import SwiftUI

/// The tiles of a map view, whose session decodes with the system:
/// `MapSession(bundle: bundle, budget: 64 << 20, decoder: SystemImageDecoder())`. The app moves `viewport`, with its
/// gestures.
struct MapCanvas: View {
  let session: MapSession<SystemImage>
  let viewport: Viewport
  @State private var tiles: [VisibleTile<SystemImage>] = []

  var body: some View {
    Canvas { context, _ in
      for tile in tiles {
        let frame = CGRect(x: tile.frame.x, y: tile.frame.y, width: tile.frame.side, height: tile.frame.side)
        context.draw(Image(decorative: tile.picture.image, scale: 1), in: frame)
      }
    }
    .onChange(of: viewport, initial: true) {
      session.update(viewport)
      tiles = session.visibleTiles
    }
    .task { await session.run() }
    .task {
      for await _ in session.readyTiles() { tiles = session.visibleTiles }
    }
  }
}
