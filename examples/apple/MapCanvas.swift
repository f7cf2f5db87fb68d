import OfflineMap
import SwiftUI

/// The tiles of a map view, whose session decodes with the system:
/// `MapSession(bundle: bundle, budget: 64 << 20, decoder: SystemImageDecoder())`. One finger moves the map, two enlarge
/// it.
struct MapCanvas: View {
  let session: MapSession<SystemImage>
  @Binding var viewport: Viewport
  @State private var tiles: [VisibleTile<SystemImage>] = []
  /// What was shown when the fingers came down.
  @State private var start: Viewport?

  var body: some View {
    Canvas { context, _ in
      for tile in tiles {
        let frame = CGRect(x: tile.frame.x, y: tile.frame.y, width: tile.frame.side, height: tile.frame.side)
        context.draw(Image(decorative: tile.picture.image, scale: 1), in: frame)
      }
    }
    .gesture(
      DragGesture(minimumDistance: 0).simultaneously(with: MagnifyGesture())
        .onChanged { fingers in
          let before = start ?? viewport
          start = before
          var after = before
          if let pinch = fingers.second {
            let point = pinch.startLocation
            after = after.zoomed(by: log2(pinch.magnification), aroundX: point.x, y: point.y)
          }
          if let drag = fingers.first { after = after.moved(byX: drag.translation.width, y: drag.translation.height) }
          viewport = after
        }
        .onEnded { _ in start = nil }
    )
    .onChange(of: viewport, initial: true) {
      session.update(viewport)
      tiles = session.visibleTiles
    }
    .task { await session.run() }
    .task {
      // Before the tiles that are there already: one that arrives in between is announced.
      let ready = session.readyTiles()
      tiles = session.visibleTiles
      for await _ in ready { tiles = session.visibleTiles }
    }
  }
}
