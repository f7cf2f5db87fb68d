import OfflineMap
import SwiftUI

extension Viewport {
  /// Follows fingers that have moved since they came down: it is shifted by a drag and enlarged around the place of a
  /// pinch.
  ///
  /// - Parameters:
  ///   - start: what was shown when they came down.
  ///   - zooms: of the map. It may be enlarged by two more.
  mutating func follow(
    _ drag: DragGesture.Value?, _ pinch: MagnifyGesture.Value?, from start: Viewport, zooms: ClosedRange<Int>
  ) {
    var after = start
    if let pinch {
      let (first, last) = (Double(zooms.lowerBound) - start.zoom, Double(zooms.upperBound) + 2 - start.zoom)
      // It may be 0.
      let factor: Double = pinch.magnification
      let steps = min(max(first, log2(factor)), last)
      after = after.zoomed(by: steps, aroundX: pinch.startLocation.x, y: pinch.startLocation.y)
    }
    if let drag { after = after.moved(byX: drag.translation.width, y: drag.translation.height) }
    // No further than the map's upper and lower edge. To the sides it goes around the world.
    after.y = min(max(after.y, 0), 1)
    self = after
  }
}
