/// How a digital elevation model (DEM) is drawn: shaded by a light, tinted by colours, or both.
package struct ReliefLayer: Hashable, Sendable, Codable {
  /// How light and shade are computed. All but ``none`` take the slope by Horn's method, from the eight neighbours.
  package enum Shading: String, Hashable, Sendable, Codable, CaseIterable {
    /// One light.
    case hillshade
    /// Lights from 225, 270, 315 and 360 degrees, weighted by where a slope faces (USGS Open-File Report 92-422).
    case multidirectional
    /// White where the ground is level, black where it is vertical.
    case slope
    /// No shading: tints alone.
    case none
  }

  /// What ``tint`` is looked up by.
  package enum TintValue: String, Hashable, Sendable, Codable, CaseIterable {
    /// The DEM's values.
    case elevation
    /// The slope in degrees.
    case slope
  }

  /// How the light falls.
  package var shading: Shading = .hillshade
  /// Where the light of ``Shading/hillshade`` comes from, in degrees clockwise from north.
  package var azimuth = 315.0
  /// The light's height above the horizon, in degrees.
  package var altitude = 45.0
  /// What the DEM's values are multiplied by to give metres, and by how much the relief is exaggerated.
  package var exaggeration = 1.0
  /// How much of the shading is drawn, from 0 to 1.
  package var strength = 1.0
  /// What slopes in full shade are multiplied by; its alpha does not count.
  package var shadowColour = MapColour(red: 0, green: 0, blue: 0)
  /// What lit slopes go towards; its alpha does not count.
  package var highlightColour = MapColour.white
  /// The colours of the ground; nil for grey.
  package var tint: ColourRamp?
  /// What the tints stand for.
  package var tintBy: TintValue = .elevation
  /// Draws shadows and lights alone, with alpha, over what lies below.
  package var isOverlay = false

  /// A hillshade without tints.
  package init() {}
}

/// Colours by value, linear between stops.
package struct ColourRamp: Hashable, Sendable, Codable {
  /// A colour at a value.
  package struct Stop: Hashable, Sendable, Codable {
    /// Metres or degrees, as the ramp is about heights or slopes.
    package let value: Double
    /// Straight red, green, blue and alpha, red in the lowest byte.
    package let rgba: UInt32

    /// A colour at a value, in straight RGBA.
    package init(value: Double, rgba: UInt32) { (self.value, self.rgba) = (value, rgba) }
  }

  /// Ascending by value; never empty. Two stops of one value are a sharp edge.
  package let stops: [Stop]

  /// Whether some colour is not opaque.
  package var hasAlpha: Bool { stops.contains { $0.rgba >> 24 != 255 } }

  /// - Parameter stops: in any order; those of one value keep theirs.
  package init?(_ stops: [Stop]) {
    guard !stops.isEmpty, stops.allSatisfy({ $0.value.isFinite }) else { return nil }
    self.stops = stops.enumerated().sorted { ($0.element.value, $0.offset) < ($1.element.value, $1.offset) }
      .map(\.element)
  }

  /// What is wrong with a line of a file.
  package struct Fault: Error {
    package let line: Int
    package let message: String
  }

  /// Reads the text format of `gdaldem color-relief`: a line has a value and a colour, as red, green, blue and
  /// possibly alpha, or as a name. Lines that begin with # do not count, nor does the colour of `nv`, nodata.
  package init(gdalText text: String) throws(Fault) {
    var stops: [Stop] = []
    var number = 0
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      number += 1
      let words = line.split { $0 == " " || $0 == "\t" || $0 == "," || $0 == ":" }.map { String($0).lowercased() }
      guard let first = words.first, !first.hasPrefix("#"), first != "nv" else { continue }
      guard let value = Double(first), value.isFinite else {
        let isShare = first.hasSuffix("%")
        throw Fault(
          line: number,
          message: isShare ? "gives \"\(first)\", a share of the values; give the value" : "has no value: \"\(first)\"")
      }
      let parts = words.dropFirst().compactMap { UInt8($0) }
      let isNumeric = (3...4).contains(parts.count) && parts.count == words.count - 1
      if isNumeric {
        let colour = MapColour(red: parts[0], green: parts[1], blue: parts[2], alpha: parts.count == 4 ? parts[3] : 255)
        stops.append(Stop(value: value, rgba: colour.word))
      } else if words.count == 2, let colour = MapColour(words[1]) {
        stops.append(Stop(value: value, rgba: colour.word))
      } else {
        throw Fault(line: number, message: "has no colour: three or four numbers from 0 to 255, or a name")
      }
    }
    guard let ramp = ColourRamp(stops) else { throw Fault(line: number, message: "ends without a colour") }
    self = ramp
  }
}
