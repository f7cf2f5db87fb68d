import CPROJ
import CTIFFShim

extension GeoKeys {
  /// What the keys say differently from the CRS of their EPSG code, which is used: base CRS, ellipsoid and parameters
  /// of the projection. Other programs may follow the keys and place the raster elsewhere.
  func contradictions(to crs: PROJObject, _ definition: ctiff_geo_definition) -> [String] {
    let code = crs.code ?? crs.name
    let differences =
      [base(beside: crs), ellipsoid(beside: crs)].compactMap { $0 } + parameters(beside: crs, definition)
    guard !differences.isEmpty else { return [] }
    return [
      "its GeoTIFF keys contradict \(code), which is used: \(differences.joined(separator: ", "));"
        + " if the keys are right, give their coordinate reference system with --crs"
    ]
  }

  private func base(beside crs: PROJObject) -> String? {
    let code = short(.geographicCRS)
    guard crs.type == PJ_TYPE_PROJECTED_CRS, Self.isCode(code), let keyed = context.create("EPSG:\(code!)"),
      let base = context.own(proj_get_source_crs(context.pointer, crs.pointer)), !keyed.isEquivalent(to: base)
    else { return nil }
    return "they are based on \(keyed.name), the code on \(base.name)"
  }

  private func ellipsoid(beside crs: PROJObject) -> String? {
    guard let major = doubles(.semiMajorAxis).first, major > 0, let axes = crs.axes else { return nil }
    let inverseFlattening = doubles(.inverseFlattening).first ?? 0
    let minor = inverseFlattening > 0 ? major * (1 - 1 / inverseFlattening) : axes.minor
    guard abs(major - axes.major) > 1 || abs(minor - axes.minor) > 1 else { return nil }
    return "their ellipsoid has the axes \(major) and \(minor) m, the code's \(axes.major) and \(axes.minor) m"
  }

  private enum Quantity {
    case angle, length, ratio
  }

  /// The keys of projection parameters, and which of EPSG's parameters each stands for.
  private static let parameterKeys: [(key: Int32, parameters: [Int], quantity: Quantity)] = [
    (3078, [8823], .angle), (3079, [8824], .angle), (3080, [8802], .angle), (3081, [8801], .angle),
    (3082, [8806], .length), (3083, [8807], .length), (3084, [8822], .angle), (3085, [8821], .angle),
    (3086, [8826], .length), (3087, [8827], .length), (3088, [8812], .angle), (3089, [8811], .angle),
    (3092, [8805], .ratio), (3093, [8815], .ratio),
  ]

  private func parameters(beside crs: PROJObject, _ definition: ctiff_geo_definition) -> [String] {
    guard let conversion = context.own(proj_crs_get_coordoperation(context.pointer, crs.pointer)) else { return [] }
    var differences: [String] = []
    for index in 0..<proj_coordoperation_get_param_count(context.pointer, conversion.pointer) {
      var (name, code): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
      var (value, factor) = (0.0, 1.0)
      guard
        proj_coordoperation_get_param(
          context.pointer, conversion.pointer, index, &name, nil, &code, &value, nil, &factor, nil, nil, nil, nil) != 0,
        let name, let parameter = code.flatMap({ Int(String(cString: $0)) }),
        let row = Self.parameterKeys.first(where: { $0.parameters.contains(parameter) }),
        let keyed = doubles(number: row.key).first
      else { continue }
      if let text = Self.difference(row.quantity, keyed: keyed, registered: value * factor, definition) {
        differences.append("\(String(cString: name).lowercased()) \(text)")
      }
    }
    return differences
  }

  /// - Parameter registered: in radians or metres.
  private static func difference(
    _ quantity: Quantity, keyed: Double, registered: Double, _ definition: ctiff_geo_definition
  ) -> String? {
    switch quantity {
    case .angle:
      // The specification demands the keys' angular unit; programs differ in whether they read it or degrees.
      let degrees = (registered * 180 / .pi * 1e9).rounded() / 1e9
      if abs(keyed - degrees) < 1e-6 { return nil }
      let unit = definition.angle_unit_degrees
      if unit > 0, abs(unit - 1) > 1e-9, abs(keyed * unit - degrees) < 1e-6 {
        return "\(keyed) in the keys' unit, which other programs may take for degrees (it is \(degrees))"
      }
      return "\(keyed) instead of \(degrees) degrees"
    case .length:
      let unit = definition.length_unit_metres > 0 ? definition.length_unit_metres : 1
      if abs(keyed * unit - registered) < 0.01 || abs(keyed - registered) < 0.01 { return nil }
      return "\(keyed) instead of \(registered / unit)"
    case .ratio:
      return abs(keyed - registered) < 1e-8 ? nil : "\(keyed) instead of \(registered)"
    }
  }
}
